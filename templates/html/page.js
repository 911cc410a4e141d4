(() => {
  "use strict";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const wide = matchMedia("(min-width: 64rem)");
  const read = () => { try { return localStorage.getItem("gb-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("gb-theme", theme); } catch { /* a page from file:// may have no storage */ } };
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const stored = read();
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("gb-theme");
    const toc = document.getElementById("gb-toc");
    const label = () => button.setAttribute("aria-pressed", String(theme() === "dark"));
    button.addEventListener("click", () => {
      root.dataset.theme = theme() === "dark" ? "light" : "dark";
      keep(root.dataset.theme);
      label();
    });
    system.addEventListener("change", label);
    label();
    button.hidden = false;
    if (toc) {
      const fit = () => { toc.open = wide.matches; };
      wide.addEventListener("change", fit);
      fit();
    }
  });
})();
