// Names for what the theme shows as a sign only.
document.addEventListener("DOMContentLoaded", () => {
  for (const fold of document.querySelectorAll(".bd-sidenav summary")) {
    fold.setAttribute("aria-label", `Pages below ${fold.closest("li").querySelector("a").textContent.trim()}`);
  }
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
});
