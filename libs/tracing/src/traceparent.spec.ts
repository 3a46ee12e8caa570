import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { isSampled, parseTraceparent, traceIdOf, traceparentOf } from './traceparent.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

describe('traceparent', () => {
  it.each([
    ['sampled', `00-${traceId}-${spanId}-01`, 1],
    ['not sampled', `00-${traceId}-${spanId}-00`, 0],
    ['with flags of a later version', `00-${traceId}-${spanId}-03`, 1],
  ])('reads one that is %s', (_, text, traceFlags) => {
    expect(parseTraceparent(text)).toEqual({ traceId, spanId, traceFlags, isRemote: true });
  });

  it.each([
    ['nothing', undefined],
    ['another version', `01-${traceId}-${spanId}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['more fields', `00-${traceId}-${spanId}-01-x`],
    ['another text', 'nonsense'],
  ])('refuses %s', (_, text) => expect(parseTraceparent(text)).toBeUndefined());

  it('is written as it was read', () => {
    for (const text of [`00-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-00`]) {
      const span = trace.wrapSpanContext(parseTraceparent(text) ?? never());
      expect(traceparentOf(span)).toBe(text);
      expect(traceIdOf(text)).toBe(traceId);
      expect(isSampled(text)).toBe(text.endsWith('01'));
    }
  });

  it('does not exist without a trace', () => {
    const span = trace.getTracer('spec').startSpan('none', {}, ROOT_CONTEXT);
    expect(traceparentOf(span)).toBeUndefined();
    expect(isSampled(undefined)).toBe(false);
  });
});

function never(): never {
  throw new Error('The text is valid');
}
