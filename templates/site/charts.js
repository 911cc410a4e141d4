// Puts a live chart over each drawing whose specification the page carries; the drawing stays for print and without script.
document.addEventListener("DOMContentLoaded", () => {
  "use strict";
  const options = {
    ast: true, // no code is made from text: the page's policy forbids it
    actions: false,
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };

  const enliven = (figure, specification) => {
    const still = figure.querySelector("img.gb-chart");
    const place = document.createElement("div");
    place.className = "gb-chart gb-live";
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", still.alt);
    still.after(place);
    vegaEmbed(place, specification, options).then(
      () => {
        place.querySelector("svg").setAttribute("aria-hidden", "true"); // the picture around it says what it shows
        figure.classList.add("gb-is-live");
      },
      () => place.remove(),
    );
  };

  const waiting = new Map();
  for (const held of document.querySelectorAll('script[type="application/json"][data-figure]')) {
    const figure = document.getElementById(held.dataset.figure);
    if (figure && figure.querySelector("img.gb-chart")) waiting.set(figure, held);
  }
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        try {
          enliven(entry.target, JSON.parse(waiting.get(entry.target).textContent));
        } catch { /* the drawing stays */ }
      }
    },
    { rootMargin: "600px" },
  );
  for (const figure of waiting.keys()) seen.observe(figure);
});
