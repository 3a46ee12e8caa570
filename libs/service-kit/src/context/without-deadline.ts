import { currentContext, runInContext } from './request-context.js';

/** Runs work that others wait for as well in the context of the request, but for its time limit. */
export function runWithoutDeadline<T>(work: () => T): T {
  const context = currentContext();
  return context?.deadline ? runInContext({ ...context, deadline: undefined }, work) : work();
}

/** Iterates beyond the time limit of the request, which is one for the start of the response. */
export async function* withoutDeadline<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const next = () => runWithoutDeadline(() => items.next());
  try {
    for (let item = await next(); !item.done; item = await next()) yield item.value;
  } finally {
    await items.return(undefined);
  }
}
