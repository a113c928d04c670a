// The page of an error code, as the server has it.
import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { api, unwrap } from '@/api/client';
import { Page } from '@/parts/Page';
import { Show } from '@/parts/States';
import { Markdown } from './Markdown';

export default function Help() {
  const { code = '' } = useParams();
  const page = useQuery({
    queryKey: ['help', code],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/errors/{code}', {
          params: { path: { code } },
          headers: { Accept: 'text/markdown' },
          parseAs: 'text',
          signal,
        }),
      ) as Promise<string>,
  });
  return (
    <Page title={code}>
      <Show query={page}>{text => <Markdown text={text} />}</Show>
    </Page>
  );
}
