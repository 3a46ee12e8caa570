/** Every error of every service. Extras stand beside these fields. @see CONTRACT.md 1.4 */
export interface ErrorBody {
  error: string;
  message: string;
  code: string;
  details?: { fieldErrors: Record<string, string[]> };
  requestId: string;
  [extra: string]: unknown;
}
