"""Prints the sum of JUnit files as one line, "N passed, N failed", and ends with 1 if anything failed or nothing ran."""
import sys
import xml.etree.ElementTree


def count(path):
    """(passed, failed, skipped) of one file; a file that is missing or broken counts as one failure."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print("%s: %s" % (path, error))
        return 0, 1, 0
    failed = skipped = passed = 0
    for case in root.iter("testcase"):
        # pytest writes an error beside a failure of the same test; ctest marks a test that did not run by its status.
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    passed, failed, skipped = (sum(column) for column in zip(*map(count, sys.argv[1:])))
    line = "%d passed, %d failed" % (passed, failed)
    print(line + (", %d skipped" % skipped if skipped else ""))
    return 1 if failed or not passed else 0


sys.exit(main())
