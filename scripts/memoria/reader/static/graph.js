// Moves and enlarges the graph: by dragging, the wheel, two fingers and keys. The server draws what is then in view.
"use strict";

const picture = document.querySelector("#picture");
if (picture) {
  const WIDTH = 1000, HEIGHT = 640, MOST = 64, LEAST = 0.5;
  const svg = () => picture.querySelector("svg");
  let shift = { x: 0, y: 0, k: 1 }; // of what is drawn, until the server draws it again
  let timer = 0;
  let running = null;

  const draw = () =>
    svg().firstElementChild.setAttribute("transform", `translate(${shift.x} ${shift.y}) scale(${shift.k})`);

  const place = () => {
    const { x, y, z, unit } = svg().dataset;
    const middle = { x: (WIDTH / 2 - shift.x) / shift.k, y: (HEIGHT / 2 - shift.y) / shift.k };
    return {
      x: (+x + (middle.x - WIDTH / 2) * unit).toFixed(1),
      y: (+y + (middle.y - HEIGHT / 2) * unit).toFixed(1),
      z: Math.min(MOST, Math.max(LEAST, z * shift.k)).toPrecision(4),
    };
  };

  const load = async () => {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(place())) query.set(name, value);
    const whole = `/graph?${query}`;
    query.set("part", "1");
    running?.abort();
    running = new AbortController();
    try {
      const answer = await fetch(`/graph?${query}`, { signal: running.signal });
      if (!answer.ok) return;
      const focused = document.activeElement?.closest?.("#graph a")?.getAttribute("href");
      picture.innerHTML = await answer.text();
      shift = { x: 0, y: 0, k: 1 };
      history.replaceState(null, "", whole);
      if (focused) picture.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    } catch (error) {
      if (error.name !== "AbortError") shift = { x: 0, y: 0, k: 1 };
    }
  };

  const changed = () => {
    draw();
    clearTimeout(timer);
    timer = setTimeout(load, 160);
  };

  const enlarge = (by, x = WIDTH / 2, y = HEIGHT / 2) => {
    const now = svg().dataset.z * shift.k;
    const factor = Math.min(MOST / now, Math.max(LEAST / now, by));
    shift = { x: x - (x - shift.x) * factor, y: y - (y - shift.y) * factor, k: shift.k * factor };
    changed();
  };

  const move = (x, y) => {
    shift.x += x;
    shift.y += y;
    changed();
  };

  const at = (event) => {
    const box = svg().getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    return { x, y: ((event.clientY - box.top) / box.height) * HEIGHT };
  };

  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = at(event);
    enlarge(Math.exp(-event.deltaY / 400), x, y);
  }, { passive: false });

  const down = new Map();
  let moved = 0;
  picture.addEventListener("pointerdown", (event) => {
    down.set(event.pointerId, at(event));
    moved = 0;
  });
  addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const now = at(event);
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (moved < 4) return;
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = Math.hypot(before.x - other.x, before.y - other.y) || 1;
      enlarge(Math.hypot(now.x - other.x, now.y - other.y) / apart, other.x, other.y);
    }
    else move(now.x - before.x, now.y - before.y);
    down.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, (event) => down.delete(event.pointerId));
  picture.addEventListener("dragstart", (event) => event.preventDefault());
  picture.addEventListener("click", (event) => {
    if (moved >= 4) event.preventDefault(); // the end of a drag is no click
  }, true);

  const steps = {
    Left: () => move(160, 0), Right: () => move(-160, 0), Up: () => move(0, 110), Down: () => move(0, -110),
    Larger: () => enlarge(1.5), Smaller: () => enlarge(1 / 1.5),
  };
  for (const link of document.querySelectorAll("[data-move]"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      steps[link.dataset.move]();
    });
  const keys = {
    ArrowLeft: "Left", ArrowRight: "Right", ArrowUp: "Up", ArrowDown: "Down",
    "+": "Larger", "=": "Larger", "-": "Smaller",
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, select, textarea")) return;
    if (event.key === "0") location.assign("/graph");
    if (!(event.key in keys)) return;
    event.preventDefault();
    steps[keys[event.key]]();
  });
}
