// The pages of the rail: their words, their paths, and the letter that opens each after `g`.
export type NavItem = { to: string; name: string; letter: string; icon: string };

/** Icons are paths in a box of 16. */
export const NAV: NavItem[] = [
  { to: '/', name: 'Overview', letter: 'o', icon: 'M2 9h3l2-5 3 9 2-4h2' },
  { to: '/executions', name: 'Executions', letter: 'e', icon: 'M4 3l8 5-8 5z' },
  { to: '/machines', name: 'Machines', letter: 'm', icon: 'M2 3h5v4H2zM9 9h5v4H9zM4.5 7v4H9' },
  { to: '/actions', name: 'Actions', letter: 'a', icon: 'M9 2 4 9h4l-1 5 5-7H8z' },
  { to: '/dead-letters', name: 'Dead letters', letter: 'd', icon: 'M2 4h12v9H2zM2 4l6 5 6-5' },
  { to: '/jobs', name: 'Jobs', letter: 'j', icon: 'M2 4h12M2 8h8M2 12h5' },
  { to: '/approvals', name: 'Approvals', letter: 'p', icon: 'M2 8l4 4 8-8' },
  {
    to: '/supervision',
    name: 'Supervision',
    letter: 's',
    icon: 'M8 2v4M3 10V8h10v2M1.5 10h3v3h-3zM6.5 10h3v3h-3zM11.5 10h3v3h-3z',
  },
  { to: '/cluster', name: 'Cluster', letter: 'c', icon: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.1M4.5 11h.1' },
  { to: '/audit', name: 'Audit', letter: 'u', icon: 'M4 2h6l3 3v9H4zM6 7h5M6 10h5' },
  { to: '/settings', name: 'Settings', letter: 't', icon: 'M2 5h6M11 5h3M2 11h3M8 11h6M8 3.5v3M5 9.5v3' },
];
