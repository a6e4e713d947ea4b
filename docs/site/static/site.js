// Regions that scroll take the keyboard's focus, and only those.
function markScrolling() {
  for (const region of document.querySelectorAll("pre, div.math, div.table-wrapper")) {
    const scrolls = region.scrollWidth > region.clientWidth;
    if (scrolls) region.tabIndex = 0;
    else region.removeAttribute("tabindex");
  }
}
addEventListener("load", markScrolling);
addEventListener("resize", markScrolling);
for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", markScrolling);
