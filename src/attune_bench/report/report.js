
{
  const controls = document.getElementById("controls"), main = document.querySelector("main");
  // A cell is of the model at the head of its column.
  for (const table of document.querySelectorAll("table.cells, table.pairs")) {
    const models = [...table.tHead.rows[0].cells].map(head => head.dataset.model);
    for (const row of table.tBodies[0].rows)
      models.forEach((model, place) => { if (model !== undefined) row.cells[place].dataset.model = model; });
  }
  const named = [...document.querySelectorAll("[data-model]")];
  const of = one => [one.dataset.model, one.dataset.other].filter(name => name !== undefined);
  let chosen = "";

  const light = model => {
    main.classList.toggle("lighting", model !== "");
    for (const one of named) one.classList.toggle("lit", model !== "" && of(one).includes(model));
  };
  main.addEventListener("pointerover", event => {
    light(event.target.closest("[data-model]")?.dataset.model ?? chosen);
  });
  main.addEventListener("pointerleave", () => light(chosen));

  const buttons = [];
  for (const name of document.querySelectorAll("table.ranking tr[data-model] bdi")) {
    const button = document.createElement("button"), model = name.closest("[data-model]").dataset.model;
    button.type = "button";
    button.className = "name";
    button.setAttribute("aria-pressed", "false");
    button.title = "Highlight everywhere";
    name.replaceWith(button);
    button.append(name);
    buttons.push([button, model]);
    button.addEventListener("click", () => {
      chosen = chosen === model ? "" : model;
      for (const [one, its] of buttons) one.setAttribute("aria-pressed", String(its === chosen));
      light(chosen);
    });
  }

  if (controls) {
    const search = controls.querySelector("input"), found = controls.querySelector("output");
    // Lines of figures may be of something else than a model.
    const models = new Set(named.filter(one => one.namespaceURI.endsWith("html")).flatMap(of));
    const filter = () => {
      const wanted = search.value.trim().toLocaleLowerCase();
      const shown = new Set([...models].filter(name => name.toLocaleLowerCase().includes(wanted)));
      for (const one of named) one.hidden = one.namespaceURI.endsWith("html") && !of(one).some(name => shown.has(name));
      for (const one of named) if (!one.namespaceURI.endsWith("html")) {
        one.classList.toggle("out", of(one).some(name => models.has(name)) && !of(one).some(name => shown.has(name)));
      }
      found.textContent = wanted ? `${shown.size} of ${models.size} models` : "";
    };
    search.addEventListener("input", filter);
    controls.querySelector("button").addEventListener("click", event => {
      const parts = [...document.querySelectorAll("details.part")], open = parts.some(one => one.open);
      for (const one of parts) one.open = !open;
      event.target.textContent = open ? "Open all sections" : "Close all sections";
    });
    controls.hidden = false;
  }

  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const part = target && target.querySelector("details.part");
    if (part) part.open = true;
    // What is folded around it, in browsers that do not open it themselves.
    for (let one = target && target.parentElement; one; one = one.parentElement) {
      if (one.tagName === "DETAILS" && !one.open) { one.open = true; target.scrollIntoView(); }
    }
  };
  addEventListener("hashchange", reveal);
  reveal();

  // The section that is read, in the contents.
  const links = new Map([...document.querySelectorAll("nav.contents a")].map(link => [link.hash.slice(1), link]));
  const seen = new Set();
  const look = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target.id);
    const first = [...links.keys()].find(name => seen.has(name));
    for (const [name, link] of links) {
      if (name === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  });
  for (const name of links.keys()) look.observe(document.getElementById(name));
}
