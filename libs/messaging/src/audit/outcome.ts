import { tap, type Observable } from 'rxjs';

/** What becomes of a handler. Neither may throw: the answer is not theirs. */
export interface OutcomeListener {
  succeeded: () => void;
  failed: (error: unknown) => void;
}

/** A handler's answer as it was, told to a listener before it leaves: also when nobody waits for it any more. */
export const withOutcome = <T>(answer: Observable<T>, { succeeded, failed }: OutcomeListener): Observable<T> =>
  answer.pipe(tap({ complete: succeeded, error: failed }));
