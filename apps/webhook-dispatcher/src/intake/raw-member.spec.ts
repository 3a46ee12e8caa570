import { rawMember } from './raw-member.js';

describe('rawMember', () => {
  it.each([
    ['{"data":{"n":12345678901234567890,"f":1.0}}', '{"n":12345678901234567890,"f":1.0}'],
    ['{ "id" : "a\\"},{" , "data" : { "a" : [ "]}" , {"b":"\\\\"} ] } , "z": 1 }', '{ "a" : [ "]}" , {"b":"\\\\"} ] }'],
    ['{"x":{"data":1},"y":[{"data":2}],"data": {} }', '{}'],
    ['{"data":{"first":1},"data":{"second":2}}', '{"second":2}'],
    ['{"a":null,"b":-1.5e3,"c":true,"data":{"d":"\\u0022"}}', '{"d":"\\u0022"}'],
    ['{"d\\u0061ta":{"escaped":"name"}}', '{"escaped":"name"}'],
  ])('returns the text of the member of %s', (json, expected) => {
    expect(rawMember(json, 'data')).toBe(expected);
    expect(JSON.parse(expected)).toEqual(JSON.parse(json).data);
  });

  it('returns null without the member', () => {
    expect(rawMember('{"a":{"data":1}}', 'data')).toBeNull();
    expect(rawMember('{}', 'data')).toBeNull();
  });
});
