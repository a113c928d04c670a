/** What can be sent. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
