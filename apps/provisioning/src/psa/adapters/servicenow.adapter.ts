import {
  basic,
  credential,
  fixedHeaders,
  isRecord,
  listOf,
  PAGE_SIZE,
  query,
  recordOf,
  repeatedPage,
  type PsaAdapter,
} from './psa.adapter.js';

/** `contact` is a reference, of which the PSA sends the id; a name with a dot is a field of its record. */
const FIELDS = 'sys_id,name,street,city,state,zip,country,phone,contact.name';
const COMPANY_TABLE = 'core_company';

/** Access rules thin pages out, so that a short page is not the last one; the table is `settings.companyTable`. */
export const servicenow: PsaAdapter = {
  authorize: (access) => fixedHeaders(basic(credential(access, 'username'), credential(access, 'password'))),
  companies: {
    smallestPage: PAGE_SIZE,
    pagesOverlap: true,
    async *pages(http, { settings }) {
      const table = typeof settings['companyTable'] === 'string' ? settings['companyTable'] : COMPANY_TABLE;
      const repetition = new Repetition();
      for (let offset = 0; ;) {
        const search = {
          sysparm_query: 'active=true^ORDERBYsys_id',
          sysparm_fields: FIELDS,
          sysparm_limit: PAGE_SIZE,
          sysparm_offset: offset,
          sysparm_exclude_reference_link: 'true',
        };
        const { json, headers } = await http.getJson(`/api/now/table/${encodeURIComponent(table)}?${query(search)}`);
        const rows = listOf(recordOf(json)['result']);
        const total = Number(headers['x-total-count']);
        // A page whose rows are all hidden is not the end while the total says that more follow.
        if (rows.length === 0 && !(total > offset + PAGE_SIZE)) return;
        if (repetition.isRepeated(rows, offset) && total <= offset) return;
        yield rows;
        offset += rows.length === 0 ? PAGE_SIZE : rows.length;
      }
    },
    toCompany: (company) => ({
      externalId: company['sys_id'],
      name: company['name'],
      address: {
        line1: company['street'],
        city: company['city'],
        region: company['state'],
        postalCode: company['zip'],
        country: company['country'],
      },
      contact: { name: company['contact.name'], phone: company['phone'] },
    }),
  },
};

/** Compares each page with the one before: a server that ignores the offset sends the same page without end. */
class Repetition {
  private ids: string | null = null;
  /** The offset at which the page was sent first. */
  private offset = 0;

  /**
   * Returns whether a page is the one before. The offset grows by the visible rows, so that few of them may be the same
   * until it has passed the whole page.
   * @throws PsaFailed  when they are the same after that
   */
  isRepeated(rows: readonly unknown[], offset: number): boolean {
    const ids = JSON.stringify(rows.map((row) => (isRecord(row) ? row['sys_id'] : null)));
    const isSame = rows.length > 0 && ids === this.ids;
    if (isSame && offset - this.offset >= PAGE_SIZE) throw repeatedPage();
    if (!isSame) Object.assign(this, { ids, offset });
    return isSame;
  }
}
