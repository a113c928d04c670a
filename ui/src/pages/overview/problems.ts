// What is wrong, as one ranked list: what hurts most and concerns most comes first.
import type { Schemas } from '@/api/client';
import type { ExecutionRow } from '@/api/queries';
import { address } from '@/lib/url';
import type { Tone } from '@/parts/Status';
import { grouped } from '../deadletters/groups';

export type Problem = {
  id: string;
  rank: number;
  tone: Tone;
  title: string;
  cause?: string;
  since?: string;
  remedy: string;
  to: string;
};

export type Found = {
  dead: Schemas['Action'][];
  failed: ExecutionRow[];
  paused: ExecutionRow[];
  approvals: Schemas['Workflow'][];
  switches: Schemas['Switch'][];
  workers: Schemas['Worker'][];
  notes: Schemas['Note'][];
  cluster?: Schemas['Cluster'];
};

/** How many problems of one kind are told one by one. */
const EACH_MAX = 10;

/** Ranks: lower is worse. */
const RANK = { nodes: 0, escalated: 1, dead: 2, failed: 3, unwell: 4, note: 5, switches: 6, approvals: 7, paused: 8 };

export function problemsOf(found: Found): Problem[] {
  const all = [
    ...nodes(found.cluster),
    ...services(found.workers),
    ...letters(found.dead),
    ...executions(found.failed),
    ...found.notes.map(noted),
    ...found.switches.filter(one => one.status !== 'released').map(switched),
    ...found.approvals.slice(0, EACH_MAX).map(approval),
    ...paused(found.paused),
  ];
  return all.sort((a, b) => a.rank - b.rank);
}

function nodes(cluster: Found['cluster']): Problem[] {
  const lost = (cluster?.nodes ?? []).filter(node => !node.alive && !node.leaving);
  return lost.map(node => ({
    id: node.id,
    rank: RANK.nodes,
    tone: 'bad',
    title: `Node ${node.id} is gone`,
    since: node.leaseUntil,
    remedy: 'Other nodes take over its shards. Start it again, or find out why it ended.',
    to: '/cluster',
  }));
}

function services(workers: Found['workers']): Problem[] {
  return workers
    .filter(one => one.state === 'failed' || one.state === 'degraded' || one.circuit === 'open')
    .map(one => ({
      id: one.path,
      rank: one.state === 'failed' ? RANK.escalated : RANK.unwell,
      tone: one.state === 'failed' ? 'bad' : 'warning',
      title: `${one.path} is ${one.state}`,
      cause: one.reason,
      since: one.since,
      remedy: one.waiting ?? 'Open it to see what comes next.',
      to: `/supervision/${encodeURIComponent(one.path)}`,
    }));
}

function letters(dead: Found['dead']): Problem[] {
  return grouped(dead)
    .slice(0, EACH_MAX)
    .map(({ fingerprint, cause, action, newest, letters: alike }) => ({
      id: fingerprint,
      rank: RANK.dead,
      tone: 'bad',
      title: alike.length === 1 ? `1 dead letter of ${action}` : `${alike.length} dead letters of ${action}`,
      cause,
      since: newest.diedAt,
      remedy: 'Open the case file: it suggests a fix, and retries all that are alike.',
      to: `/dead-letters/${newest.id}`,
    }));
}

function executions(failed: Found['failed']): Problem[] {
  return failed.slice(0, EACH_MAX).map(one => ({
    id: one.id,
    rank: RANK.failed,
    tone: 'bad',
    title: `${one.machine}, ${one.key ?? one.id} cannot decide`,
    cause: one.failure,
    since: one.updatedAt,
    remedy: 'Fix the cause, then resume it.',
    to: `/executions/${one.id}`,
  }));
}

function noted({ code, text }: Found['notes'][number]): Problem {
  return {
    id: code,
    rank: RANK.note,
    tone: 'warning',
    title: text,
    remedy: 'Read what it means.',
    to: `/help/${code}`,
  };
}

function switched({ id, scope, reason, since, status }: Found['switches'][number]): Problem {
  return {
    id,
    rank: RANK.switches,
    tone: 'warning',
    title: `The kill switch ${scope} is ${status}`,
    cause: reason,
    since,
    remedy: 'Release it once the cause is fixed.',
    to: '/settings/switches',
  };
}

function approval({ id, name, riskLevel, proposer, reason, createdAt }: Found['approvals'][number]): Problem {
  return {
    id,
    rank: RANK.approvals,
    tone: 'waiting',
    title: `${name} waits for approval`,
    cause: `${riskLevel} risk, proposed by ${proposer}: ${reason}`,
    since: createdAt,
    remedy: 'Read the plan, then approve or reject it.',
    to: `/approvals/${id}`,
  };
}

function paused(found: Found['paused']): Problem[] {
  const [newest] = found;
  if (!newest) return [];
  const only = found.length === 1;
  return [
    {
      id: 'paused',
      rank: RANK.paused,
      tone: 'waiting',
      title: only ? `${newest.machine}, ${newest.key ?? newest.id} is paused` : `${found.length} executions are paused`,
      since: newest.updatedAt,
      remedy: 'Resume what should continue.',
      to: only ? `/executions/${newest.id}` : address('/executions', { status: 'paused' }),
    },
  ];
}
