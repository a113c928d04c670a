// A machine as the server lays it out: boxes, lines and labels with their places. The page only draws them.

export type Point = { x: number; y: number };
export type Area = Point & { width: number; height: number };

export type Drawing = {
  width: number;
  height: number;
  text: {
    name: number;
    nameRow: number;
    note: number;
    noteRow: number;
    label: number;
    labelRow: number;
    inset: number;
  };
  states: DrawnState[];
  lines: DrawnLine[];
  separators: { from: Point; to: Point }[];
};

export type DrawnState = {
  /** The dotted path; the root has the name of the machine. */
  id: string;
  parent?: number;
  shape: 'atomic' | 'compound' | 'parallel' | 'region' | 'final' | 'shallowHistory' | 'deepHistory';
  area: Area;
  name: string;
  notes?: { kind: 'action' | 'internal'; text: string }[];
  /** The dot of an initial state. */
  dot?: Point;
};

export type DrawnLine = {
  from: number;
  to: number;
  event: string;
  guard?: string;
  points: Point[];
  label?: { area: Area; rows: string[] };
};

/** A line of corners as a path, its corners rounded. */
export function pathOf(points: Point[], radius = 8): string {
  return points
    .map((point, index) => {
      const before = points[index - 1];
      const after = points[index + 1];
      if (!before) return `M${point.x} ${point.y}`;
      if (!after) return `L${point.x} ${point.y}`;
      const near = towards(point, before, radius);
      const far = towards(point, after, radius);
      return `L${near.x} ${near.y}Q${point.x} ${point.y} ${far.x} ${far.y}`;
    })
    .join('');
}

/** A point on the way to another one, at most half of the way. */
function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const share = length === 0 ? 0 : Math.min(distance, length / 2) / length;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}
