// The states of a machine: as a picture where the server draws one for pages, and always as an outline that says the same.
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { keys } from '@/api/keys';
import { takes } from '@/api/routes';
import type { StateNode } from '@/lib/chart';
import type { Drawing } from '@/lib/drawing';
import { Chart } from './Chart';
import { Diagram } from './Diagram';
import { Show } from './States';

const HAS_DRAWINGS = takes('GET /v1/machines/{id}/diagram', 'format', 'json');

type Props = {
  machine: string;
  version: number;
  chart: StateNode;
  configuration?: string[];
  linkTo?: (path: string) => string;
};

export function Statechart({ machine, version, chart, configuration = [], linkTo }: Props) {
  const outline = <Chart root={chart} configuration={configuration} linkTo={linkTo} />;
  if (!HAS_DRAWINGS) return outline;
  return (
    <div className="stack">
      <Drawn machine={machine} version={version} configuration={configuration} />
      <details>
        <summary>As an outline</summary>
        {outline}
      </details>
    </div>
  );
}

function Drawn({ machine, version, configuration }: { machine: string; version: number; configuration: string[] }) {
  const drawing = useQuery({
    queryKey: keys.diagram(machine, version),
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => {
      const params = { path: { id: machine }, query: { format: 'json' as never, version } };
      return unwrap(api.GET('/v1/machines/{id}/diagram', { params, signal })) as Promise<unknown> as Promise<Drawing>;
    },
  });
  return <Show query={drawing}>{data => <Diagram drawing={data} name={machine} configuration={configuration} />}</Show>;
}
