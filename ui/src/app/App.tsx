// Providers and pages. Each page is a part of its own, loaded when it is first opened.
import { QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { BrowserRouter, Navigate, Route, Routes } from 'react-router';
import { Loading } from '@/parts/States';
import { queryClient } from './live';
import { Shell } from './Shell';

const Overview = lazy(() => import('@/pages/overview/Overview'));
const Executions = lazy(() => import('@/pages/executions/Executions'));
const Execution = lazy(() => import('@/pages/execution/Execution'));
const Machines = lazy(() => import('@/pages/machines/Machines'));
const Machine = lazy(() => import('@/pages/machines/Machine'));
const NewMachine = lazy(() => import('@/pages/machines/NewMachine'));
const Actions = lazy(() => import('@/pages/actions/Actions'));
const Action = lazy(() => import('@/pages/actions/Action'));
const Queue = lazy(() => import('@/pages/actions/Queue'));
const Health = lazy(() => import('@/pages/actions/Health'));
const DeadLetters = lazy(() => import('@/pages/deadletters/DeadLetters'));
const DeadLetter = lazy(() => import('@/pages/deadletters/DeadLetter'));
const Jobs = lazy(() => import('@/pages/jobs/Jobs'));
const Job = lazy(() => import('@/pages/jobs/Job'));
const Approvals = lazy(() => import('@/pages/approvals/Approvals'));
const Workflow = lazy(() => import('@/pages/approvals/Workflow'));
const Supervision = lazy(() => import('@/pages/supervision/Supervision'));
const Worker = lazy(() => import('@/pages/supervision/Worker'));
const Cluster = lazy(() => import('@/pages/cluster/Cluster'));
const Audit = lazy(() => import('@/pages/audit/Audit'));
const Settings = lazy(() => import('@/pages/settings/Settings'));
const Help = lazy(() => import('@/pages/help/Help'));
const NotFound = lazy(() => import('@/pages/help/NotFound'));

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <BrowserRouter>
        <Shell>
          <Suspense fallback={<Loading rows={8} />}>
            <Routes>
              <Route path="/" element={<Overview />} />
              <Route path="/executions" element={<Executions />} />
              <Route path="/executions/:id" element={<Execution />} />
              <Route path="/machines" element={<Machines />} />
              <Route path="/machines/new" element={<NewMachine />} />
              <Route path="/machines/:id" element={<Machine />} />
              <Route path="/actions/queue" element={<Queue />} />
              <Route path="/actions/health" element={<Health />} />
              <Route path="/actions" element={<Actions />}>
                <Route path=":id" element={<Action />} />
              </Route>
              <Route path="/dead-letters" element={<DeadLetters />}>
                <Route path=":id" element={<DeadLetter />} />
              </Route>
              <Route path="/jobs" element={<Jobs />}>
                <Route path=":id" element={<Job />} />
              </Route>
              <Route path="/approvals" element={<Approvals />}>
                <Route path=":id" element={<Workflow />} />
              </Route>
              <Route path="/supervision" element={<Supervision />}>
                <Route path=":path" element={<Worker />} />
              </Route>
              <Route path="/cluster" element={<Cluster />} />
              <Route path="/audit" element={<Audit />} />
              <Route path="/settings" element={<Navigate to="/settings/display" replace />} />
              <Route path="/settings/:part" element={<Settings />} />
              <Route path="/help/:code" element={<Help />} />
              <Route path="*" element={<NotFound />} />
            </Routes>
          </Suspense>
        </Shell>
      </BrowserRouter>
    </QueryClientProvider>
  );
}
