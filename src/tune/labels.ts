/** A dot that wants a label. */
export interface Dot {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly label: string;
}

/** Where a text begins, on its base line. */
export interface Label {
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** About the width of a letter at 12 pixels. */
const LETTER = 6.4;
const LINE = 13;
/** Lines up or down from the dot that a label may be moved, the nearest first. */
const SHIFTS = [0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5];

/** Labels beside their dots, moved up or down where others are in the way. First come, first served. */
export function placeLabels(
  dots: readonly Dot[],
  limits: { readonly left: number; readonly right: number },
): Label[] {
  const taken: Box[] = dots.map(({ x, y, radius }) => ({
    left: x - radius,
    right: x + radius,
    top: y - radius,
    bottom: y + radius,
  }));
  return dots.map((dot) => {
    const places = placesFor(dot).filter(
      ({ left, right }) => left >= limits.left && right <= limits.right,
    );
    const free = places.find((place) => !taken.some((box) => overlaps(place, box)));
    // Where nothing is free, an unreadable label is still better than none.
    const box = free ?? places[0] ?? placesFor(dot)[0];
    if (box === undefined) return { x: dot.x, y: dot.y, text: dot.label };
    taken.push(box);
    return { x: Math.round(box.left), y: Math.round(box.bottom - 3), text: dot.label };
  });
}

function placesFor({ x, y, radius, label }: Dot): Box[] {
  const width = label.length * LETTER;
  return SHIFTS.flatMap((shift) => {
    const top = y + shift * LINE - LINE / 2;
    const beside = { top, bottom: top + LINE };
    return [
      { ...beside, left: x + radius + 3, right: x + radius + 3 + width },
      { ...beside, left: x - radius - 3 - width, right: x - radius - 3 },
    ];
  });
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
