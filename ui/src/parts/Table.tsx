// A list that draws only the rows in view. The first column is a link to the row's page; the whole row leads there.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import { NavLink, useLocation } from 'react-router';
import styles from './Table.module.css';

const ROW = 36;
/** Rows from the end at which the next page is asked for. */
const AHEAD = 20;

export type Column<T> = {
  name: string;
  /** A track of a CSS grid. */
  width: string;
  cell: (row: T) => ReactNode;
  isNumber?: boolean;
  /** Left out where the screen is narrow. */
  isExtra?: boolean;
};

type Props<T> = {
  label: string;
  rows: T[];
  columns: Column<T>[];
  keyOf: (row: T) => string;
  to?: (row: T) => string;
  hasMore?: boolean;
  onMore?: () => void;
};

const places = new Map<string, number>();

export function Table<T>({ label, rows, columns, keyOf, to, hasMore = false, onMore }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const place = usePlace(scroller, label);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 8,
    initialOffset: place,
    getItemKey: index => keyOf(rows[index] as T),
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= rows.length - AHEAD) onMore?.();
  }, [hasMore, last, rows.length, onMore]);
  const tracks = {
    '--tracks': columns.map(column => column.width).join(' '),
    '--tracks-narrow': columns
      .filter(column => !column.isExtra)

      // Where there is no room, no column asks for any.
      .map(column => column.width.replace(/minmax\([^,]+,/, 'minmax(0,'))
      .join(' '),
  } as CSSProperties;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be within reach of the keyboard
    <div ref={scroller} className={styles.scroller} style={tracks} tabIndex={0} role="region" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <div role="row" className={`${styles.row} ${styles.header}`} aria-rowindex={1}>
          {columns.map(column => (
            <div key={column.name} role="columnheader" className={cellClass(column)}>
              {column.name}
            </div>
          ))}
        </div>
        <div role="rowgroup" className={styles.rows} style={{ height: virtual.getTotalSize() }}>
          {items.map(item => {
            const row = rows[item.index] as T;
            return (
              <div
                key={item.key}
                role="row"
                aria-rowindex={item.index + 2}
                className={styles.row}
                style={{ transform: `translateY(${item.start}px)`, height: item.size }}
              >
                <Cells row={row} columns={columns} to={to?.(row)} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Cells<T>({ row, columns, to }: { row: T; columns: Column<T>[]; to?: string }) {
  return columns.map((column, index) => (
    <div key={column.name} role="cell" className={cellClass(column)}>
      {index === 0 && to ? (
        <NavLink to={to} className={styles.link} data-row-link>
          {column.cell(row)}
        </NavLink>
      ) : (
        column.cell(row)
      )}
    </div>
  ));
}

function cellClass<T>(column: Column<T>): string {
  return [styles.cell, column.isNumber ? styles.number : '', column.isExtra ? styles.extra : ''].join(' ');
}

/** Where the list was when the reader left this entry of the browser's history. */
function usePlace(scroller: React.RefObject<HTMLDivElement | null>, label: string): number {
  const { key } = useLocation();
  const name = `${key} ${label}`;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const keep = () => places.set(name, element.scrollTop);
    element.addEventListener('scroll', keep, { passive: true });
    return () => element.removeEventListener('scroll', keep);
  }, [name, scroller]);
  return places.get(name) ?? 0;
}
