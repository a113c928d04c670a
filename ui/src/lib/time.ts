// Instants and durations as text. An instant is shown in the zone of the reader's choice, and copied as RFC 3339 in UTC.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  let known = formats.get(key);
  if (!known) {
    known = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options });
    formats.set(key, known);
  }
  return known;
}

function parts(at: number, zone: string): Record<string, string> {
  const options: Intl.DateTimeFormatOptions = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'shortOffset',
  };
  return Object.fromEntries(
    format(zone, options)
      .formatToParts(at)
      .map(part => [part.type, part.value]),
  );
}

/** `2026-11-19 20:31:07 GMT+5:30` */
export function absolute(at: number, zone: string): string {
  const { year, month, day, hour, minute, second, timeZoneName } = parts(at, zone);
  const name = /^GMT([+-]0)?$/.test(timeZoneName ?? '') ? 'UTC' : timeZoneName;
  return `${year}-${month}-${day} ${hour}:${minute}:${second} ${name}`;
}

/** The shortest text that is still clear: the time of today, or the date too. */
export function brief(at: number, now: number, zone: string): string {
  const then = parts(at, zone);
  const today = parts(now, zone);
  const time = `${then.hour}:${then.minute}:${then.second}`;
  const isToday = then.year === today.year && then.month === today.month && then.day === today.day;
  if (isToday) return time;
  const year = then.year === today.year ? '' : `${then.year}-`;
  return `${year}${then.month}-${then.day} ${time}`;
}

/** `3 min ago`, `in 2 h` */
export function relative(at: number, now: number): string {
  const distance = Math.abs(at - now);
  if (distance < SECOND) return 'now';
  const text = rough(distance);
  return at <= now ? `${text} ago` : `in ${text}`;
}

/** A duration in its largest unit. */
function rough(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** A measured duration. */
export function took(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 2 : 1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
}

/** Whether the browser knows a time zone by this name. */
export function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return name !== '';
  } catch {
    return false;
  }
}
