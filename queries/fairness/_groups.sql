-- How groups are compared. Reads `slice`, "group" and `weight`, which every fairness table but that of
-- `consistency` has.

-- One row per slice.
CREATE OR REPLACE TEMP VIEW slices AS
SELECT DISTINCT slice FROM rows;

-- Weighted mean of x over the rows where `among` is true and x is known. NULL where they have no weight.
CREATE OR REPLACE TEMP MACRO mean_of(x, among) AS
    sum(weight * x::DOUBLE) FILTER (among AND x IS NOT NULL)
    / nullif(sum(weight) FILTER (among AND x IS NOT NULL), 0);

-- The weighted share of rows where `hit` is true, among the rows where `among` is true and `hit` is known.
CREATE OR REPLACE TEMP MACRO share(hit, among) AS mean_of(hit, among);

-- One row per slice, group of the slice, and row of the table t in the slice. `own`: the row is of the
-- group. `other`: the row is of the reference that the group is compared with. The columns of t are NULL
-- where it has no row in the slice.
CREATE OR REPLACE TEMP MACRO beside(t) AS TABLE
SELECT each.slice, each."group", r.* EXCLUDE (slice, "group"),
       r."group" = each."group" AS own,
       CASE getvariable('ref_kind')
           WHEN 'value' THEN r."group" = getvariable('ref') AND r."group" <> each."group"
           WHEN 'overall' THEN r."group" IS NOT NULL
           WHEN 'rest' THEN r."group" <> each."group"
       END AS other
FROM (SELECT DISTINCT slice, "group" FROM rows) AS each
LEFT JOIN query_table(t) AS r ON r.slice IS NOT DISTINCT FROM each.slice;

-- One row per comparison of two groups, side, and row of the table t on that side. The rows of group a
-- have side 1, those of the group b side -1. b is NULL where a is compared with everyone or with everyone
-- else. A group that is alone in its slice is compared with everyone, which is itself, and with nobody else.
-- Without a reference every group is compared with every other, in both orders. A slice without a comparison
-- has one row, of NULLs.
CREATE OR REPLACE TEMP MACRO comparisons(t) AS TABLE
WITH members AS (
    FROM query_table(t) WHERE "group" IS NOT NULL AND weight > 0
),
compared AS (
    SELECT DISTINCT one.slice, one."group" AS a,
           CASE WHEN getvariable('ref_kind') IN ('overall', 'rest') THEN NULL ELSE two."group" END AS b
    FROM members AS one
    JOIN members AS two
        ON two.slice IS NOT DISTINCT FROM one.slice
        AND (getvariable('ref_kind') = 'overall' OR two."group" <> one."group")
    WHERE getvariable('ref_kind') IS DISTINCT FROM 'value' OR two."group" = getvariable('ref')
)
SELECT slices.slice, a, b, side, m.* EXCLUDE (slice)
FROM slices
LEFT JOIN compared AS c ON c.slice IS NOT DISTINCT FROM slices.slice
LEFT JOIN (FROM members, (VALUES (1), (-1)) AS sides (side)) AS m
    ON m.slice IS NOT DISTINCT FROM c.slice
    AND CASE WHEN side = 1 THEN m."group" = a
             WHEN b IS NOT NULL THEN m."group" = b
             WHEN getvariable('ref_kind') = 'rest' THEN m."group" <> a
             ELSE a IS NOT NULL END;

-- Of all known x, the one of largest size. Of sizes that are equal to twelve decimals, the lowest x.
CREATE OR REPLACE TEMP MACRO farthest(x, size) AS
    first(x ORDER BY round(size, 12) DESC, x) FILTER (x IS NOT NULL);

-- The difference between groups: `mine` is the value of a group, `theirs` that of its reference.
-- Without a reference: the largest value minus the smallest, NULL with fewer than two groups that have a
-- value. With one: group minus reference, the difference of largest size with its sign.
CREATE OR REPLACE TEMP MACRO difference(mine, theirs) AS
    CASE WHEN getvariable('ref_kind') IS NULL
             THEN CASE WHEN count(mine) > 1 THEN nullif(max(mine) - min(mine), 'nan') END
         ELSE farthest(nullif(mine - theirs, 'nan'), abs(mine - theirs)) END;

-- The ratio of groups, with `mine` and `theirs` as above. Without a reference: the smallest value over the
-- largest, NULL with fewer than two groups that have a value. With one: group over reference, the ratio whose
-- logarithm is largest in size. x/0 is inf and 0/0 is undefined.
CREATE OR REPLACE TEMP MACRO ratio(mine, theirs) AS
    CASE WHEN getvariable('ref_kind') IS NULL
             THEN CASE WHEN count(mine) > 1 THEN nullif(min(mine) / max(mine), 'nan') END
         ELSE farthest(nullif(mine / theirs, 'nan'), abs(ln(abs(mine / theirs)))) END;

-- A statistic x of two groups. Without a reference: the largest size. With one: the x of largest size, with
-- its sign.
CREATE OR REPLACE TEMP MACRO strongest(x) AS
    CASE WHEN getvariable('ref_kind') IS NULL THEN max(abs(x)) ELSE farthest(x, abs(x)) END;
