// The clock of the picture, in ms. It stands still while the picture does.

let lost = 0; // ms for which it stood still
let heldAt = null;

export const clock = {
  now: () => (heldAt ?? performance.now()) - lost,
  get held() { return heldAt !== null; },
  hold() { heldAt ??= performance.now(); },
  release() {
    if (heldAt === null) return;
    lost += performance.now() - heldAt;
    heldAt = null;
  },
};
