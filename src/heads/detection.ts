/** A labelled box, in pixels of the picture as a person sees it. */
export interface Detection {
  readonly label: string;
  readonly confidence: number;
  /** x1, y1, x2, y2 */
  readonly bbox: readonly [number, number, number, number];
}
