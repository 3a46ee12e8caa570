/** The metadata that `@Type` and `@Transform` leave behind; the package publishes no types for this path. */
declare module 'class-transformer/cjs/storage.js' {
  interface Transformation {
    transformFn: (params: {
      value: unknown;
      key: string;
      obj: unknown;
      type: number;
      options: Record<string, unknown>;
    }) => unknown;
  }
  export const defaultMetadataStorage: {
    findTransformMetadatas(target: object, propertyName: string, transformationType: number): Transformation[];
    findTypeMetadata(target: object, propertyName: string): { typeFunction?: (help?: object) => object } | undefined;
  };
}
