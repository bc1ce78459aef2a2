// What scrolls sideways can be reached and scrolled with the keyboard.
function reachable() {
  for (const box of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", reachable);
addEventListener("resize", reachable);
