// Whether the page is live. A lost connection is said at once; what is shown stays, and so do forms.
import { useEffect, useState } from 'react';
import { useConnection } from '@/api/live';
import { Mark } from '@/parts/Status';
import styles from './ConnectionBanner.module.css';
import { live } from './live';

/** A connection that comes at once needs no banner. */
const QUIET_MS = 1_500;

export function ConnectionBanner() {
  const connection = useConnection(live);
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (connection !== 'connecting') return;
    const timer = setTimeout(() => setSlow(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, [connection]);
  const isShown = connection === 'lost' || (connection === 'connecting' && isSlow);
  return (
    <div role="status" className={isShown ? styles.banner : undefined}>
      {isShown ? (
        <>
          <Mark tone="warning" />
          {connection === 'lost'
            ? 'The connection to the server is lost. This page shows what it was before, and tries again.'
            : 'Not live yet. The page connects to the server.'}
        </>
      ) : null}
    </div>
  );
}
