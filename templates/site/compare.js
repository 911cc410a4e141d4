// Two reports side by side. The choice lives in the address after #; each report hands over its texts by a script of its own,
// because a page from disk may fetch nothing. All of it is put in as text.
(() => {
  "use strict";
  const known = new Map(); // folder -> summary, null when it could not be had
  window.gatebookSummary = (folder, summary) => known.set(folder, summary);

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const fetched = (folder, offered, done) => {
    if (!folder || known.has(folder) || !offered.has(folder)) return done();
    const script = element("script", undefined, { src: `${folder.split("/").map(encodeURIComponent).join("/")}/summary.js` });
    script.onload = done;
    script.onerror = () => { known.set(folder, null); done(); };
    document.head.append(script);
  };

  // [name, text, ...] of both sides, joined by the name in the order of the first
  const joined = (left, right) => {
    const rows = new Map();
    for (const [side, list] of [[0, left], [1, right]]) {
      const times = new Map();
      for (const [name, ...texts] of list) {
        const n = (times.get(name) || 0) + 1;
        times.set(name, n);
        const key = JSON.stringify([name, n]);
        if (!rows.has(key)) rows.set(key, [name, null, null]);
        rows.get(key)[side + 1] = texts.join(" ");
      }
    }
    return [...rows.values()].map(([name, a, b]) => ({ name, a: a ?? "not there", b: b ?? "not there", differs: a !== b }));
  };

  const table = (title, noun, rows) => {
    const made = element("table");
    made.append(element("caption", title));
    const head = element("tr");
    for (const words of [noun, "First", "Second", ""]) head.append(words ? element("th", words, { scope: "col" }) : element("td"));
    made.append(element("thead"));
    made.tHead.append(head);
    const body = element("tbody");
    for (const row of rows) {
      const line = element("tr");
      line.append(element("th", row.name, { scope: "row" }), element("td", row.a), element("td", row.b), element("td", row.differs ? "≠ differs" : ""));
      body.append(line);
    }
    if (!rows.length) body.append(element("tr"));
    made.append(body);
    const region = element("div", undefined, { class: "scroll", role: "region", tabindex: "0", "aria-label": title });
    region.append(made);
    return region;
  };

  const few = (n, noun, many) => (n === 1 ? `1 ${noun}` : `${n} ${many}`);

  addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("choice");
    const sentence = document.getElementById("sentence");
    const tables = document.getElementById("tables");
    const offered = new Set([...form.elements.a.options].map((option) => option.value).filter(Boolean));

    const show = () => {
      const [a, b] = ["a", "b"].map((side) => known.get(form.elements[side].value));
      tables.replaceChildren();
      if (a === null || b === null) { sentence.textContent = "A report could not be read: its folder is not complete."; return; }
      if (!a || !b) { sentence.textContent = "Choose two reports."; return; }
      if (a.study !== b.study) { sentence.textContent = `${a.study} and ${b.study} are two studies; choose two reports of one.`; return; }
      const top = (of) => [
        ["Label", of.label], ["Verdict", of.verdict], ["In one sentence", of.headline], ["Why", of.reason],
        ["Signature", of.signature], ["Rule", of.rule], ["Mapping of columns", of.layouts],
      ];
      const parts = {
        top: joined(top(a), top(b)),
        made_from: joined(a.made_from, b.made_from),
        clauses: joined(a.clauses, b.clauses),
        parameters: joined(a.parameters, b.parameters),
        inputs: joined(a.inputs, b.inputs),
      };
      const count = (name) => parts[name].filter((row) => row.differs).length;
      const verdict = (of) => of.clauses.map(([name, , , , said]) => [name, said]);
      const clauses = joined(verdict(a), verdict(b)).filter((row) => row.differs).length;
      const verdicts = a.verdict === b.verdict ? `Both say ${a.verdict}` : `The first says ${a.verdict}, the second ${b.verdict}`;
      sentence.textContent = `${verdicts}; the verdict of ${few(clauses, "clause", "clauses")}, ${few(count("parameters"), "parameter", "parameters")} and ${few(count("inputs"), "input file", "input files")} differ.`;
      tables.append(
        table("The two reports", "What", parts.top),
        table("Clause by clause: observed, relation, limit, verdict", "Clause", parts.clauses),
        table("Parameters", "Parameter", parts.parameters),
        table("Input files, with SHA-256", "File", parts.inputs),
        table("Made from, as the first twelve digits of SHA-256", "What", parts.made_from),
      );
    };

    const chosen = () => {
      const given = new URLSearchParams();
      for (const side of ["a", "b"]) if (form.elements[side].value) given.set(side, form.elements[side].value);
      history.replaceState(null, "", given.size ? `#${given}` : location.pathname.split("/").pop() || ".");
      fetched(form.elements.a.value, offered, () => fetched(form.elements.b.value, offered, show));
    };

    const read = () => {
      const given = new URLSearchParams(location.hash.slice(1));
      for (const side of ["a", "b"]) form.elements[side].value = offered.has(given.get(side)) ? given.get(side) : "";
      chosen();
    };

    form.hidden = false;
    form.addEventListener("change", chosen);
    form.addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("swap").addEventListener("click", () => {
      [form.elements.a.value, form.elements.b.value] = [form.elements.b.value, form.elements.a.value];
      chosen();
    });
    addEventListener("hashchange", read);
    read();
  });
})();
