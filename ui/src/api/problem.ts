// What went wrong with a request: a problem document of the server (RFC 9457), or no answer at all.
import type { components } from './generated/schema';

export type ProblemDocument = components['schemas']['Problem'];

/** A refusal of the server. */
export class ApiProblem extends Error {
  readonly problem: ProblemDocument;

  constructor(problem: ProblemDocument) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** The server did not answer. */
export class NoAnswer extends Error {}

/** An answer without a problem document, as a proxy in between may give. */
function bare(response: Response): ProblemDocument {
  return {
    type: 'about:blank',
    title: response.statusText || 'Unexpected answer',
    status: response.status,
    detail: `the server answered with status \`${response.status}\` and no explanation`,
    code: 'unexpected-answer',
    retryable: response.status >= 500,
    errors: [],
  };
}

function isProblem(value: unknown): value is ProblemDocument {
  return typeof value === 'object' && value !== null && 'code' in value && 'detail' in value;
}

/** The problem that an answer holds. */
export function problemOf(error: unknown, response: Response): ApiProblem {
  return new ApiProblem(isProblem(error) ? error : bare(response));
}

export function codeOf(error: unknown): string | null {
  return error instanceof ApiProblem ? error.problem.code : null;
}

/** Whether the caller must show a token first. */
export function needsToken(error: unknown): boolean {
  return error instanceof ApiProblem && error.problem.status === 401;
}
