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
