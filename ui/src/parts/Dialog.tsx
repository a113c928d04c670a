// A dialog of the browser's own: it keeps the focus inside, closes with Escape, and gives the focus back.
import { type ReactNode, useEffect, useId, useRef } from 'react';
import styles from './Dialog.module.css';

type Props = { title: string; onClose: () => void; children: ReactNode; isWide?: boolean };

export function Dialog({ title, onClose, children, isWide }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={isWide ? `${styles.dialog} ${styles.wide}` : styles.dialog}
      aria-labelledby={heading}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
    >
      <header className={styles.header}>
        <h2 id={heading}>{title}</h2>
        <button type="button" className="plain" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      <div className={styles.body}>{children}</div>
    </dialog>
  );
}
