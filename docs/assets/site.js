// What scrolls sideways can be reached and scrolled with the keyboard.
function reachable() {
  for (const box of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", reachable);
addEventListener("resize", reachable);

// A link of each heading to itself, which would be a tenth of the bytes of a page of the reference.
for (const heading of document.querySelectorAll("article :is(h1, h2, h3, h4, h5, h6)[id]")) {
  const link = Object.assign(document.createElement("a"), { className: "headerlink", href: `#${heading.id}` });
  link.textContent = "\u00b6";
  heading.append(" ", link);
}
