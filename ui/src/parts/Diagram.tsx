// The statechart as a picture: drawn where the server placed it, moved and enlarged by the reader, with the active states lit.
import { type PointerEvent, useId, useRef, useState } from 'react';
import { isActive } from '@/lib/chart';
import { type Area, type Drawing, type DrawnLine, type DrawnState, pathOf } from '@/lib/drawing';
import styles from './Diagram.module.css';

type Props = { drawing: Drawing; name: string; configuration: string[] };

const ZOOM = 1.25;
const SMALLEST = 80;

export function Diagram({ drawing, name, configuration }: Props) {
  const whole: Area = { x: 0, y: 0, width: drawing.width, height: drawing.height };
  const [view, setView] = useState(whole);
  const drag = useDrag(view, setView);
  const arrow = useId();
  const zoom = (by: number) => {
    const width = Math.max(SMALLEST, view.width / by);
    const height = view.height * (width / view.width);
    setView({ x: view.x + (view.width - width) / 2, y: view.y + (view.height - height) / 2, width, height });
  };
  const active = configuration.length > 0 ? `, active: ${configuration.join(', ')}` : '';
  return (
    <div className={styles.frame}>
      <svg
        className={styles.picture}
        viewBox={`${view.x} ${view.y} ${view.width} ${view.height}`}
        style={{ aspectRatio: `${drawing.width} / ${drawing.height}`, maxWidth: drawing.width }}
        role="img"
        aria-label={`Diagram of ${name}${active}`}
        {...drag}
      >
        <defs>
          <marker
            id={arrow}
            viewBox="0 0 9 8"
            refX="8.5"
            refY="4"
            markerWidth="9"
            markerHeight="8"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0 .5L9 4L0 7.5z" className={styles.head} />
          </marker>
        </defs>
        {drawing.states.map(state => (
          <State
            key={state.id}
            state={state}
            text={drawing.text}
            active={state.parent !== undefined && isLit(state, configuration)}
          />
        ))}
        {drawing.separators.map(({ from, to }) => (
          <path key={`${from.x} ${from.y}`} className={styles.separator} d={`M${from.x} ${from.y}L${to.x} ${to.y}`} />
        ))}
        {drawing.lines.map((line, index) => (
          <path key={index} className={styles.line} d={pathOf(line.points)} markerEnd={`url(#${arrow})`} />
        ))}
        {drawing.lines.map((line, index) => (
          <Label key={index} line={line} text={drawing.text} />
        ))}
      </svg>
      <div className={styles.tools} role="group" aria-label="View">
        <button type="button" aria-label="Enlarge" onClick={() => zoom(ZOOM)}>
          +
        </button>
        <button type="button" aria-label="Reduce" onClick={() => zoom(1 / ZOOM)}>
          −
        </button>
        <button type="button" onClick={() => setView(whole)}>
          Fit
        </button>
      </div>
    </div>
  );
}

function isLit(state: DrawnState, configuration: string[]): boolean {
  return configuration.length > 0 && isActive(state.id, configuration);
}

/** Moves the view with the pointer. */
function useDrag(view: Area, setView: (view: Area) => void) {
  const from = useRef<{ x: number; y: number; view: Area } | null>(null);
  return {
    onPointerDown: (event: PointerEvent<SVGSVGElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      from.current = { x: event.clientX, y: event.clientY, view };
    },
    onPointerMove: (event: PointerEvent<SVGSVGElement>) => {
      const began = from.current;
      if (!began) return;
      const scale = began.view.width / event.currentTarget.clientWidth;
      const x = began.view.x - (event.clientX - began.x) * scale;
      const y = began.view.y - (event.clientY - began.y) * scale;
      setView({ ...began.view, x, y });
    },
    onPointerUp: () => {
      from.current = null;
    },
  };
}

function State({ state, text, active }: { state: DrawnState; text: Drawing['text']; active: boolean }) {
  const { area, shape, name, notes = [], dot, id } = state;
  const isHistory = shape === 'shallowHistory' || shape === 'deepHistory';
  const baseline = area.y + text.nameRow * 0.7;
  return (
    <g className={styles.state} data-active={active} data-shape={shape} data-state={id}>
      {isHistory ? (
        <circle cx={area.x + area.width / 2} cy={area.y + area.height / 2} r={area.width / 2} />
      ) : (
        <rect x={area.x} y={area.y} width={area.width} height={area.height} rx={8} />
      )}
      {shape === 'final' ? (
        <rect
          className={styles.inner}
          x={area.x + 3}
          y={area.y + 3}
          width={area.width - 6}
          height={area.height - 6}
          rx={6}
        />
      ) : null}
      {isHistory ? (
        <text x={area.x + area.width / 2} y={area.y + area.height / 2 + 4} textAnchor="middle" fontSize={text.note}>
          {shape === 'deepHistory' ? 'H*' : 'H'}
        </text>
      ) : (
        <text className={styles.name} x={area.x + text.inset} y={baseline} fontSize={text.name}>
          {name}
        </text>
      )}
      {notes.map((note, index) => (
        <text
          key={index}
          className={styles.note}
          x={area.x + text.inset}
          y={baseline + text.noteRow * (index + 1)}
          fontSize={text.note}
        >
          {note.text}
        </text>
      ))}
      {dot ? <circle className={styles.dot} cx={dot.x} cy={dot.y} r={5} /> : null}
    </g>
  );
}

function Label({ line: { label }, text }: { line: DrawnLine; text: Drawing['text'] }) {
  if (!label) return null;
  const { area, rows } = label;
  return (
    <g>
      <rect className={styles.plate} x={area.x} y={area.y} width={area.width} height={area.height} rx={4} />
      {rows.map((row, index) => (
        <text
          key={index}
          x={area.x + area.width / 2}
          y={area.y + text.labelRow * (index + 0.75)}
          textAnchor="middle"
          fontSize={text.label}
        >
          {row}
        </text>
      ))}
    </g>
  );
}
