// Copying to the clipboard, with a sign that it happened.
import { useEffect, useState } from 'react';

const SHOWN_MS = 1_200;

export function useCopy(): [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  // Browsers keep the clipboard from pages that came over plain http from another machine.
  return [
    copied,
    text =>
      void navigator.clipboard?.writeText(text).then(
        () => setCopied(true),
        () => undefined,
      ),
  ];
}
