// A statechart as nested boxes, with the active states lit. Its structure is the same for screen readers: a list in a list.
import { Link } from 'react-router';
import { isActive, type StateNode } from '@/lib/chart';
import styles from './Chart.module.css';

type Props = {
  root: StateNode;
  configuration?: string[];
  /** Executions in a state, where a state leads to them. */
  linkTo?: (path: string) => string;
};

export function Chart({ root, configuration = [], linkTo }: Props) {
  return (
    <ul className={styles.chart} aria-label={`States of ${root.name}`}>
      {root.children.map(child => (
        <State key={child.path} node={child} configuration={configuration} linkTo={linkTo} />
      ))}
    </ul>
  );
}

function State({
  node,
  configuration,
  linkTo,
}: { node: StateNode } & Required<Pick<Props, 'configuration'>> & Pick<Props, 'linkTo'>) {
  const active = configuration.length > 0 && isActive(node.path, configuration);
  const hasChildren = node.children.length > 0;
  return (
    <li className={styles.state} data-active={active} data-kind={node.kind} data-state={node.path}>
      <div className={styles.name}>
        {node.isInitial ? (
          <span className={styles.initial} title="Initial state">
            <span aria-hidden="true">●</span>
            <span className="hidden-text">initial</span>
          </span>
        ) : null}
        {linkTo ? <Link to={linkTo(node.path)}>{node.name}</Link> : <span>{node.name}</span>}
        {active ? <span className={styles.active}>active</span> : null}
        {node.kind === 'final' || node.kind === 'parallel' || node.kind === 'history' ? (
          <span className="soft">{node.kind}</span>
        ) : null}
      </div>
      {node.transitions.length > 0 ? (
        <ul className={styles.transitions} aria-label={`Transitions of ${node.name}`}>
          {node.transitions.map((one, index) => (
            <li key={`${one.event} ${index}`}>
              <span className={styles.event}>{one.event}</span>
              {one.isGuarded ? <span className="soft"> if</span> : null}
              {one.targets.length > 0 ? (
                <span className="soft">
                  {' '}
                  → <span className={styles.target}>{one.targets.join(', ')}</span>
                </span>
              ) : null}
            </li>
          ))}
        </ul>
      ) : null}
      {hasChildren ? (
        <ul className={node.kind === 'parallel' ? styles.regions : styles.children}>
          {node.children.map(child => (
            <State key={child.path} node={child} configuration={configuration} linkTo={linkTo} />
          ))}
        </ul>
      ) : null}
    </li>
  );
}
