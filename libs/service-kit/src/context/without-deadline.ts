import { currentContext, runInContext } from './request-context.js';

/**
 * Iterates beyond the time limit of the request: it is one for the start of the response, and statements and RPCs of the
 * pages that follow would get what is left of it.
 */
export async function* withoutDeadline<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const context = currentContext();
  const next = () => (context ? runInContext({ ...context, deadline: undefined }, () => items.next()) : items.next());
  try {
    for (let item = await next(); !item.done; item = await next()) yield item.value;
  } finally {
    await items.return(undefined);
  }
}
