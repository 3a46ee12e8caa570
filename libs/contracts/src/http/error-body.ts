/** The body of every error response. Extra fields are added next to these. @see docs/reference/errors.md */
export interface ErrorBody {
  error: string;
  message: string;
  code: string;
  details?: { fieldErrors: Record<string, string[]> };
  requestId: string;
  [extra: string]: unknown;
}
