// The version of the package. The build writes that of package.json here.
export const version: string = "0.0.0";
