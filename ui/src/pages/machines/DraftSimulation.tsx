// The simulation of a text that is not applied yet. Its states come with the findings of the server.
import { useDeferredValue } from 'react';
import { parseChart } from '@/lib/chart';
import { parseDraft } from '@/lib/yaml';
import { Empty } from '@/parts/States';
import { Simulation } from './Simulation';

export function DraftSimulation({ text }: { text: string }) {
  const settled = useDeferredValue(text);
  const definition = parseDraft(settled);
  if (!definition) return <Empty title="The text is not a machine yet." />;
  return <Simulation key={settled} of={{ definition: settled }} chart={parseChart(definition)} />;
}
