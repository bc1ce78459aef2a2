
{
  const part = id => document.getElementById(id);
  const [controls, search, found, panel] = ["controls", "search", "found", "panel"].map(part);
  const selected = name => part(name)?.value ?? "";
  const named = () => [...document.querySelectorAll("tr[data-model]")];

  const make = (name, ...children) => {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  };

  // What is searched and chosen decides what is hidden; nothing else hides anything.
  const filter = () => {
    const wanted = search.value.trim().toLocaleLowerCase();
    for (const row of named()) row.hidden = !row.dataset.model.toLocaleLowerCase().includes(wanted);
    const board = selected("board"), condition = selected("condition"), subgroup = selected("subgroup");
    for (const one of document.querySelectorAll(".board")) one.hidden = board !== "" && one.dataset.board !== board;
    for (const one of document.querySelectorAll(".condition")) {
      one.hidden = condition !== "" && one.dataset.condition !== condition;
      one.querySelector(".ranking").hidden = subgroup !== "";
      for (const other of one.querySelectorAll(".matrix, .about")) other.hidden = subgroup !== "";
      for (const folded of one.querySelectorAll(".subgroups")) show(folded, subgroup);
    }
    const shown = document.querySelectorAll(".board:not([hidden]) .condition:not([hidden]) .ranking tr[data-model]");
    const count = [...shown].filter(row => !row.hidden).length;
    found.textContent = wanted ? `${count} ${count === 1 ? "row" : "rows"}` : "";
  };

  const show = (folded, subgroup) => {
    const heads = [...folded.querySelectorAll("thead th")], [trait, stratum] = subgroup ? JSON.parse(subgroup) : [];
    const column = folded.dataset.trait === trait ? heads.findIndex(head => head.textContent === stratum) : -1;
    folded.hidden = subgroup !== "" && column < 0;
    for (const row of folded.querySelectorAll("tr")) {
      [...row.cells].forEach((cell, place) => { cell.hidden = column > 0 && place > 0 && place !== column; });
    }
    if (column > 0) {
      folded.querySelector("details").open = true;
      // The best first: the first click sorts in one direction, the second in the other.
      const head = heads[column], sorted = () => head.getAttribute("aria-sort") === folded.dataset.best;
      for (let clicks = 0; clicks < 2 && !sorted(); clicks += 1) head.querySelector("button")?.click();
    }
  };

  const called = section => {
    const title = section.querySelector("h3")?.textContent;
    const board = section.closest(".board").querySelector("h2").textContent;
    return title ? `${board}, ${title}` : board;
  };

  const verdicts = { better: "differs", worse: "differs", same: "does not differ", none: "not compared" };
  const against = (model, section) => {
    const matrix = section.querySelector(".matrix table");
    const body = document.createElement("tbody");
    const own = [...(matrix?.tBodies[0].rows ?? [])].find(row => row.dataset.model === model);
    for (const [place, cell] of [...(own?.cells ?? [])].entries()) {
      const verdict = verdicts[cell.className];
      if (verdict === undefined) continue;
      const other = matrix.tHead.rows[0].cells[place].dataset.model;
      const texts = [other, cell.title.slice(cell.title.lastIndexOf(": ") + 1).trim() || "-", verdict];
      const row = make("tr", ...texts.map(text => Object.assign(make("td", text), { className: "text" })));
      if (verdict === "differs") row.className = "apart";
      body.append(row);
    }
    const heads = ["against", "difference", "verdict"].map(text => {
      return Object.assign(make("th", text), { scope: "col", className: "text" });
    });
    const scroll = make("div", make("table", make("thead", make("tr", ...heads)), body));
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `${model} against each other model: ${called(section)}`);
    return body.rows.length ? [scroll] : [];
  };

  const describe = (model, section) => {
    const list = document.createElement("dl");
    for (const table of section.querySelectorAll(".ranking table, .about table")) {
      const row = [...table.tBodies[0].rows].find(one => one.dataset.model === model);
      [...(row?.cells ?? [])].forEach((cell, place) => {
        const head = table.tHead.rows[0].cells[place].textContent, value = document.createElement("dd");
        if (head === "model" || cell.textContent === "-") return;
        const kept = [...cell.childNodes].filter(node => node.className !== "interval");
        value.append(...kept.map(node => node.cloneNode(true)));
        list.append(make("dt", head), value);
      });
    }
    return [make("h3", called(section)), list, ...against(model, section)];
  };

  const open = () => {
    let model = "";
    try {
      model = decodeURIComponent(location.hash.startsWith("#model=") ? location.hash.slice(7) : "");
    } catch { /* a hash that somebody typed is no address of a model */ }
    for (const row of named()) row.classList.toggle("chosen", row.dataset.model === model);
    const rows = [...document.querySelectorAll(".ranking tr.chosen")];
    panel.hidden = rows.length === 0;
    if (panel.hidden) return;
    search.value = "";
    for (const name of ["board", "condition", "subgroup"]) if (part(name)) part(name).value = "";
    filter();
    part("panel-title").textContent = model;
    part("panel-body").replaceChildren(...rows.flatMap(row => describe(model, row.closest(".condition"))));
    panel.scrollTop = 0;
    rows[0].scrollIntoView({ block: "start" });
    part("panel-title").focus({ preventScroll: true });
  };

  const close = () => {
    const row = document.querySelector(".ranking tr.chosen");
    history.pushState(null, "", location.pathname + location.search);
    open();
    row?.querySelector("a").focus({ preventScroll: true });
  };

  controls.hidden = false;
  for (const type of ["input", "change"]) controls.addEventListener(type, filter);
  controls.addEventListener("submit", event => event.preventDefault());
  part("close").addEventListener("click", close);
  document.addEventListener("keydown", event => { if (event.key === "Escape" && !panel.hidden) close(); });
  for (const table of document.querySelectorAll(".ranking table")) {
    table.tHead.addEventListener("click", () => { table.dataset.sorted = ""; });
  }
  addEventListener("hashchange", open);
  open();
}
