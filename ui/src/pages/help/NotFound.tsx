// An address that is no page.
import { Link, useLocation } from 'react-router';
import { visible } from '@/lib/visible';
import { Page } from '@/parts/Page';
import { Empty } from '@/parts/States';

export default function NotFound() {
  const { pathname } = useLocation();
  return (
    <Page title="No such page">
      <Empty title={`There is no page ${visible(pathname)}.`}>
        Check the address, paste an id into the box above, or go to the <Link to="/">overview</Link>.
      </Empty>
    </Page>
  );
}
