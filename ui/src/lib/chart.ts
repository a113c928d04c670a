// A machine as its author wrote it: the tree of states with their transitions, and which messages are accepted where.

export type Transition = { event: string; targets: string[]; isGuarded: boolean };
export type StateNode = {
  /** Dotted, from the root; the root itself has an empty path. */
  path: string;
  name: string;
  kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  isInitial: boolean;
  transitions: Transition[];
  children: StateNode[];
};

type Raw = Record<string, unknown>;

function isObject(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Events that Sprag raises itself. People cannot send them. */
const RAISED = /^(done|failed|skipped|error)\./;

export function parseChart(definition: Raw): StateNode {
  return parse(definition, '', String(definition.id ?? ''), true);
}

function parse(raw: Raw, path: string, name: string, isInitial: boolean): StateNode {
  const states = isObject(raw.states) ? raw.states : {};
  const names = Object.keys(states);
  const kind = kindOf(raw, names.length > 0);
  const initial = Array.isArray(raw.initial) ? raw.initial : [raw.initial];
  const first = initial.map(one => String(one).replace(/^\./, ''));
  const children = names.map(child => {
    const isFirst = kind === 'compound' && (first.includes(child) || (raw.initial === undefined && names[0] === child));
    const inner = isObject(states[child]) ? states[child] : {};
    return parse(inner, path ? `${path}.${child}` : child, child, isFirst);
  });
  return { path, name, kind, isInitial, transitions: transitionsOf(raw), children };
}

function kindOf(raw: Raw, hasChildren: boolean): StateNode['kind'] {
  if (raw.type === 'parallel' || raw.type === 'final' || raw.type === 'history') return raw.type;
  if (raw.history !== undefined) return 'history';
  return hasChildren ? 'compound' : 'atomic';
}

function transitionsOf(raw: Raw): Transition[] {
  const on = isObject(raw.on) ? Object.entries(raw.on) : [];
  const after = isObject(raw.after)
    ? Object.entries(raw.after).map(([delay, to]) => [`after ${delay}`, to] as const)
    : [];
  const named: (readonly [string, unknown])[] = [...on, ...after];
  if (raw.always !== undefined) named.push(['always', raw.always]);
  if (raw.onDone !== undefined) named.push(['when done', raw.onDone]);
  return named.flatMap(([event, to]) => (Array.isArray(to) ? to : [to]).map(one => transition(event, one)));
}

function transition(event: string, raw: unknown): Transition {
  const target = isObject(raw) ? raw.target : raw;
  const targets = (Array.isArray(target) ? target : [target]).filter(one => typeof one === 'string');
  return { event, targets, isGuarded: isObject(raw) && raw.guard !== undefined };
}

/** Whether a state is active: one of the innermost active states is it or is inside it. */
export function isActive(path: string, configuration: string[]): boolean {
  return path === '' || configuration.some(one => one === path || one.startsWith(`${path}.`));
}

/** The messages for which some active state has a transition. */
export function accepted(root: StateNode, configuration: string[]): string[] {
  const events = new Set<string>();
  const visit = (node: StateNode) => {
    if (!isActive(node.path, configuration)) return;
    for (const { event } of node.transitions) {
      if (!event.startsWith('after ') && event !== 'always' && event !== 'when done' && !RAISED.test(event))
        events.add(event);
    }
    node.children.forEach(visit);
  };
  visit(root);
  return [...events];
}

/** The delays that run in active states, as the author wrote them. */
export function runningDelays(root: StateNode, configuration: string[]): string[] {
  const delays = new Set<string>();
  const visit = (node: StateNode) => {
    if (!isActive(node.path, configuration)) return;
    for (const { event } of node.transitions) if (event.startsWith('after ')) delays.add(event.slice(6));
    node.children.forEach(visit);
  };
  visit(root);
  return [...delays];
}
