// The filter lives in the address after #, so that it can be kept and passed on. Nothing is fetched, nothing is written as HTML.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const form = document.getElementById("filters");
  const count = document.getElementById("count");
  const entries = [...document.querySelectorAll("li[data-study]")].map((node) => ({
    node,
    study: node.dataset.study,
    verdict: node.dataset.verdict,
    made: node.dataset.made,
    parameters: node.dataset.parameters.toLowerCase().split("\n"),
    text: node.textContent.toLowerCase(),
  }));

  const fits = (entry, wanted) =>
    (!wanted.study || entry.study === wanted.study) &&
    (!wanted.verdict || entry.verdict === wanted.verdict) &&
    (!wanted.since || entry.made >= wanted.since) &&
    wanted.words.every((word) => (word.includes("=") ? entry.parameters.includes(word) : entry.text.includes(word)));

  const show = () => {
    const given = new URLSearchParams(new FormData(form));
    for (const [name, value] of [...given]) if (!value.trim()) given.delete(name);
    const wanted = Object.fromEntries(given);
    wanted.words = (wanted.words || "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const entry of entries) {
      entry.node.hidden = !fits(entry, wanted);
      shown += entry.node.hidden ? 0 : 1;
    }
    count.textContent = given.size ? `${shown} of ${entries.length} shown` : "";
    const address = given.size ? `#${given}` : location.pathname.split("/").pop() || ".";
    history.replaceState(null, "", address);
  };

  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) if (field.name) field.value = given.get(field.name) || "";
    show();
  };

  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show));
  window.addEventListener("hashchange", read);
  read();
});
