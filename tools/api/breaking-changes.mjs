// Lists what a client of the released API would notice: `breakingChanges(released, current)`.

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];

/**
 * Compares two OpenAPI documents.
 * @returns a line per breaking change: removed operations, parameters, fields and enum values; changed types; input
 *   that became required or narrower; output that became optional, nullable or absent
 */
export function breakingChanges(released, current) {
  const comparison = new Comparison(released, current);
  for (const [path, item] of Object.entries(released.paths)) {
    for (const method of METHODS.filter((each) => each in item)) {
      const operation = `${method.toUpperCase()} ${path}`;
      const now = current.paths[path]?.[method];
      if (now === undefined) comparison.report(operation, 'was removed');
      else comparison.compareOperations(operation, item[method], now);
    }
  }
  return [...new Set(comparison.changes)].sort();
}

class Comparison {
  changes = [];
  compared = new Set();

  constructor(released, current) {
    this.released = released;
    this.current = current;
  }

  report(where, what) {
    this.changes.push(`${where}: ${what}`);
  }

  compareOperations(name, before, now) {
    if (before.operationId !== now.operationId) this.report(name, `operationId is ${now.operationId} now`);
    this.compareParameters(name, before.parameters ?? [], now.parameters ?? []);
    this.compareBodies(name, before.requestBody, now.requestBody);
    for (const [status, response] of Object.entries(before.responses).filter(([each]) => /^[23]/.test(each))) {
      const other = resolve(this.current, now.responses[status]);
      if (other === undefined) this.report(name, `does not respond ${status} any more`);
      else this.compareContent(`${name} ${status}`, resolve(this.released, response).content, other.content, 'output');
    }
  }

  compareParameters(name, before, now) {
    const keyOf = (parameter) => `${parameter.in} parameter ${parameter.name}`;
    const byKey = new Map(now.map((parameter) => [keyOf(parameter), parameter]));
    for (const parameter of before) {
      const other = byKey.get(keyOf(parameter));
      if (other === undefined) this.report(name, `${keyOf(parameter)} was removed`);
      else this.compareSchemas(`${name} ${keyOf(parameter)}`, parameter.schema, other.schema, 'input');
    }
    const known = new Map(before.map((parameter) => [keyOf(parameter), parameter]));
    for (const parameter of now.filter(({ required }) => required)) {
      if (!known.get(keyOf(parameter))?.required) this.report(name, `${keyOf(parameter)} is required now`);
    }
  }

  compareBodies(name, before, now) {
    if (now?.required && !before?.required) this.report(name, 'a body is required now');
    if (!before) return;
    if (!now) return this.report(name, 'takes no body any more');
    this.compareContent(`${name} body`, before.content, now.content, 'input');
  }

  compareContent(where, before = {}, now = {}, direction) {
    for (const [mediaType, { schema }] of Object.entries(before)) {
      if (!(mediaType in now)) this.report(where, `${mediaType} was removed`);
      else this.compareSchemas(where, schema, now[mediaType].schema, direction);
    }
  }

  compareSchemas(where, before, now, direction) {
    if (!before || !now) return;
    const pair = [before.$ref, now.$ref, direction].join();
    if (before.$ref && now.$ref && this.compared.has(pair)) return;
    this.compared.add(pair);
    const [one, other] = [flatten(this.released, before), flatten(this.current, now)];
    const location = before.$ref ? `${before.$ref.split('/').pop()} (${direction})` : where;
    this.compareTypes(location, one, other, direction);
    this.compareEnums(location, one, other);
    if (direction === 'input') this.compareLimits(location, one, other);
    this.compareFields(location, one, other, direction);
    if (one.items && other.items) this.compareSchemas(`${location}[]`, one.items, other.items, direction);
    this.compareVariants(location, one, other, direction);
  }

  compareTypes(location, before, now, direction) {
    const [from, to] = [typesOf(before), typesOf(now)];
    if (from.length === 0 || to.length === 0) return;
    const [accepted, needed] = direction === 'input' ? [to, from] : [from, to];
    const isCovered = (type) => accepted.includes(type) || (type === 'integer' && accepted.includes('number'));
    if (!needed.every(isCovered)) this.report(location, `type ${from.join(' or ')} is ${to.join(' or ')} now`);
    if (before.format && now.format && before.format !== now.format) {
      this.report(location, `format ${before.format} is ${now.format} now`);
    }
  }

  compareEnums(location, before, now) {
    if (now.enum === undefined || before.enum === undefined) return;
    for (const value of before.enum.filter((each) => !now.enum.includes(each))) {
      this.report(location, `value ${JSON.stringify(value)} was removed`);
    }
  }

  compareLimits(location, before, now) {
    for (const limit of ['maxLength', 'maximum', 'maxItems']) {
      if (now[limit] < (before[limit] ?? Infinity)) this.report(location, `${limit} is ${now[limit]} now`);
    }
    for (const limit of ['minLength', 'minimum', 'minItems']) {
      if (now[limit] > (before[limit] ?? 0)) this.report(location, `${limit} is ${now[limit]} now`);
    }
    if (now.enum !== undefined && before.enum === undefined) this.report(location, 'takes a list of values only now');
  }

  compareFields(location, before, now, direction) {
    for (const [name, schema] of Object.entries(before.properties ?? {})) {
      const other = now.properties?.[name];
      if (other === undefined) this.report(location, `field ${name} was removed`);
      else this.compareSchemas(`${location}.${name}`, schema, other, direction);
    }
    const [required, requiredNow] = [before.required ?? [], now.required ?? []];
    if (direction === 'input') {
      for (const name of requiredNow.filter((each) => !required.includes(each))) {
        this.report(location, `field ${name} is required now`);
      }
    } else {
      for (const name of required.filter((each) => !requiredNow.includes(each) && now.properties?.[each])) {
        this.report(location, `field ${name} may be absent now`);
      }
    }
  }

  compareVariants(location, before, now, direction) {
    const [from, to] = [variantsOf(before), variantsOf(now)];
    if (from.length === 0 || to.length === 0) return;
    const nameOf = (variant) => variant.$ref ?? JSON.stringify(variant);
    const needed = direction === 'input' ? from : to;
    const others = new Set((direction === 'input' ? to : from).map(nameOf));
    if (needed.length > others.size && needed.some((variant) => !others.has(nameOf(variant)))) {
      this.report(location, `has ${to.length} shapes instead of ${from.length}`);
    }
    for (const variant of from.filter(({ $ref }) => $ref)) {
      const same = to.find(({ $ref }) => $ref === variant.$ref);
      if (same) this.compareSchemas(location, variant, same, direction);
    }
  }
}

const typesOf = ({ type, nullable }) => (type === undefined ? [] : [type, ...(nullable ? ['null'] : [])].flat());

const variantsOf = ({ oneOf, anyOf }) => oneOf ?? anyOf ?? [];

function resolve(document, part) {
  if (!part?.$ref) return part;
  return part.$ref
    .slice(2)
    .split('/')
    .reduce((value, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

/** Resolves a reference and merges `allOf`. */
function flatten(document, schema, depth = 0) {
  const own = resolve(document, schema) ?? {};
  if (!own.allOf || depth > 20) return own;
  const parts = own.allOf.map((part) => flatten(document, part, depth + 1));
  return [own, ...parts].reduce((merged, part) => ({
    ...part,
    ...merged,
    properties: { ...part.properties, ...merged.properties },
    required: [...(merged.required ?? []), ...(part.required ?? [])],
  }));
}
