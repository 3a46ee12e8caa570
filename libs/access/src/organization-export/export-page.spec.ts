import { EXPORT_READ_LIMIT, toExportPage } from './export-page.js';

const records = (count: number, bytes = 1) =>
  Array.from({ length: count }, (_, id) => ({ id: String(id), text: 'x'.repeat(bytes) }));
const page = (given: ReturnType<typeof records>) => {
  const { records: taken, next } = toExportPage(given, ({ id }) => id);
  return { taken: taken.length, next };
};

describe('toExportPage', () => {
  it('has all records when there are no more', () => {
    expect(page(records(0))).toEqual({ taken: 0, next: null });
    expect(page(records(EXPORT_READ_LIMIT - 1))).toEqual({ taken: 200, next: null });
  });

  it('names the last record when there are more', () => {
    expect(page(records(EXPORT_READ_LIMIT))).toEqual({ taken: 200, next: '199' });
  });

  it('ends early below the message limit, with at least one record', () => {
    expect(page(records(20, 100 * 1024))).toEqual({ taken: 5, next: '4' });
    expect(page(records(2, 900 * 1024))).toEqual({ taken: 1, next: '0' });
  });
});
