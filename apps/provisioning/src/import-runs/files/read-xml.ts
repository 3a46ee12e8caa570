import type { SaxEvent } from 'exceljs/lib/utils/parse-sax.js';
import { ImportRunFailed } from '../import-run.errors.js';

/** The start or end of an element, or text in it. */
export type XmlEvent =
  | { type: 'start'; name: string; attributes: Record<string, string | undefined> }
  | { type: 'end'; name: string }
  | { type: 'text'; text: string };

/**
 * Yields what each chunk of an XML part has; names are without their prefix.
 * @throws ImportRunFailed when the part ends before its root element does, which the parser does not notice
 */
export async function* readXml(part: AsyncIterable<string>): AsyncGenerator<XmlEvent[]> {
  const parseSax = (await import('exceljs/lib/utils/parse-sax.js')).default;
  let depth = 0;
  let isEmpty = true;
  for await (const events of parseSax(part)) {
    for (const { eventType } of events) {
      if (eventType === 'opentag') depth += 1;
      else if (eventType === 'closetag') depth -= 1;
    }
    isEmpty &&= events.length === 0;
    yield events.map(toXmlEvent);
  }
  if (isEmpty || depth > 0) throw new ImportRunFailed('import_file_malformed', 'A part of the XLSX file ends early');
}

function toXmlEvent(event: SaxEvent): XmlEvent {
  if (event.eventType === 'text') return { type: 'text', text: event.value };
  const { name } = event.value;
  const local = name.slice(name.indexOf(':') + 1);
  if (event.eventType === 'closetag') return { type: 'end', name: local };
  return { type: 'start', name: local, attributes: event.value.attributes };
}
