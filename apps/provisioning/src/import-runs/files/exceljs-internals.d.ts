/** The XML parser of exceljs, which it does not export. */
declare module 'exceljs/lib/utils/parse-sax.js' {
  export type SaxEvent =
    | { eventType: 'opentag'; value: { name: string; attributes: Record<string, string> } }
    | { eventType: 'closetag'; value: { name: string } }
    | { eventType: 'text'; value: string };

  /** Yields the events of each chunk. */
  export default function parseSax(part: AsyncIterable<string>): AsyncGenerator<SaxEvent[]>;
}

declare module 'exceljs/lib/utils/utils.js' {
  const utils: {
    isDateFmt(format: string | undefined): boolean;
    excelToDate(days: number, isFrom1904?: boolean): Date;
  };
  export default utils;
}
