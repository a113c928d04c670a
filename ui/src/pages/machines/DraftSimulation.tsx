// The simulation of a text that is not applied yet. Its states come with the findings of the server.
import { parseChart } from '@/lib/chart';
import { parseDraft } from '@/lib/yaml';
import { Empty } from '@/parts/States';
import { Simulation } from './Simulation';

export function DraftSimulation({ text }: { text: string }) {
  const definition = parseDraft(text);
  if (!definition) return <Empty title="The text is not a machine yet." />;
  return <Simulation key={text} of={{ definition: text }} chart={parseChart(definition)} />;
}
