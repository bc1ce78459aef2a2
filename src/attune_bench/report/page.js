for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sorted = head.getAttribute("aria-sort"), text = !("value" in body.rows[0].cells[column].dataset);
      const rising = sorted ? sorted === "descending" : text;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const order = (a, b) => text ? key(a).localeCompare(key(b)) : key(a) - key(b);
      const known = row => key(row) !== "";
      const rows = [...body.rows];
      const ordered = rows.filter(known).sort((a, b) => rising ? order(a, b) : order(b, a));
      body.append(...ordered, ...rows.filter(row => !known(row)));
    });
  });
}
{
  // Whether there is more at the right of what scrolls.
  const mark = one => one.classList.toggle("more", one.scrollWidth - one.clientWidth - one.scrollLeft > 2);
  const watch = new ResizeObserver(entries => entries.forEach(entry => mark(entry.target)));
  for (const one of document.querySelectorAll(".scroll")) {
    one.addEventListener("scroll", () => mark(one), { passive: true });
    watch.observe(one);
  }
  let closed = [];
  // A head with buttons is not repeated on the next sheet.
  const buttons = [...document.querySelectorAll("table.sortable thead button")];
  const heads = buttons.map(button => button.parentElement);
  addEventListener("beforeprint", () => {
    buttons.forEach((button, place) => { button.remove(); heads[place].append(...button.childNodes); });
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => {
    buttons.forEach((button, place) => { button.append(...heads[place].childNodes); heads[place].append(button); });
    for (const one of closed) one.open = false;
  });
}
{
  // A narrow screen shows long tables where they are asked for.
  const narrow = matchMedia("(max-width: 40rem)"), long = document.querySelectorAll("details.long:not(.fold *)");
  const fold = () => { for (const one of long) one.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
}
{
  // Buttons that copy a figure or a table; where the clipboard is closed, a file is saved instead.
  const csv = table => {
    const rows = [...table.rows].map(row => [...row.cells].map(cell => {
      const small = [...cell.querySelectorAll("small")], copy = cell.cloneNode(true);
      for (const one of copy.querySelectorAll("small, svg, .key")) one.remove();
      const words = text => text.replace(/\s+/g, " ").trim();
      // The head of a model can be its number, or its name without the middle; its title is its name.
      return [cell.matches("th[title]") ? cell.title : words(copy.textContent),
        words(small.map(one => one.textContent).join(" "))];
    }));
    const noted = (rows[0] ?? []).map((_, place) => rows.some(row => row[place]?.[1]));
    const quoted = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    return rows.map((row, line) => row.flatMap(([text, small], place) =>
      noted[place] ? [text, line ? small : `${text} note`] : [text]).map(quoted).join(",")).join("\n") + "\n";
  };
  const svg = figure => {
    // Panels go side by side, two in a row.
    const parts = [...figure.querySelectorAll("svg:not(.narrow)")], columns = Math.min(parts.length, 2);
    const { width, height } = parts[0].viewBox.baseVal, make = (name, given) => {
      const made = document.createElementNS(parts[0].namespaceURI, name);
      for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
      return made;
    };
    const size = { width: width * columns, height: height * Math.ceil(parts.length / columns) };
    const whole = make("svg", size);
    whole.append(make("rect", { ...size, fill: "#fff" }), ...parts.map((part, place) => {
      const group = make("g", { transform: `translate(${place % columns * width} ${Math.floor(place / columns) * height})` });
      for (const name of ["font-family", "font-size", "fill"]) group.setAttribute(name, part.getAttribute(name));
      group.append(...part.cloneNode(true).childNodes);
      return group;
    }));
    return [new XMLSerializer().serializeToString(whole), size.width, size.height];
  };
  const png = async figure => {
    const [text, width, height] = svg(figure), image = new Image(), canvas = document.createElement("canvas");
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise(done => canvas.toBlob(done, "image/png"));
  };
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const give = async (button, kind, make) => {
    const name = button.textContent, blob = await make();
    try {
      const text = kind === "image/png" ? null : await blob.text();
      if (text === null) await navigator.clipboard.write([new ClipboardItem({ [kind]: blob })]);
      else await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      const ends = { "image/png": "png", "image/svg+xml": "svg", "text/csv": "csv" };
      save(blob, `${button.dataset.name}.${ends[kind]}`);
      button.textContent = "saved";
    }
    setTimeout(() => { button.textContent = name; }, 1500);
  };
  const blob = (text, kind) => new Blob([text], { type: kind });
  const offer = (after, called, kinds) => {
    const bar = document.createElement("div");
    bar.className = "copy";
    for (const [text, kind, make] of kinds) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.dataset.name = called.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60) || "figure";
      button.setAttribute("aria-label", `Copy as ${text}: ${called}`);
      button.addEventListener("click", () => give(button, kind, make));
      bar.append(button);
    }
    after.after(bar);
  };
  for (const figure of document.querySelectorAll("figure:has(svg)")) {
    const called = figure.querySelector("figcaption").textContent;
    offer(figure, called, [
      ["SVG", "image/svg+xml", async () => blob(svg(figure)[0], "image/svg+xml")],
      ["PNG", "image/png", () => png(figure)],
    ]);
  }
  for (const table of document.querySelectorAll("table:is(.sortable, .ranking, .cells, .pairs)")) {
    const region = table.closest(".scroll") ?? table;
    const called = region.getAttribute("aria-label") ?? table.caption?.textContent ?? "table";
    offer(table.closest("figure") ?? region, called, [["CSV", "text/csv", async () => blob(csv(table), "text/csv")]]);
  }
}
