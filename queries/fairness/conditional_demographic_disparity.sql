-- Conditional demographic disparity: a group's share of the rejected minus its share of the accepted in a
-- stratum, averaged over the rows of all strata. Without a reference, the largest size of any group. With a group as
-- the reference, the value of largest size of the other groups, with its sign; else of all groups. A group that is
-- alone is not compared, except with everyone.
-- views: _groups.sql
WITH known AS (
    FROM rows
    WHERE "group" IS NOT NULL AND label IS NOT NULL AND strata IS NOT NULL AND weight > 0
),
strata AS (
    SELECT slice, "group", sum(weight) AS weight, bool_or(own) AS present,
           coalesce(share(own, NOT label), 0) - coalesce(share(own, label), 0) AS disparity
    FROM beside(known)
    GROUP BY slice, "group", strata
),
groups AS (
    SELECT slice, "group", mean_of(disparity, true) AS mean
    FROM strata
    GROUP BY slice, "group"
    HAVING bool_or(present)
),
compared AS (
    SELECT a.slice, a.mean
    FROM groups AS a
    WHERE CASE getvariable('ref_kind')
              WHEN 'overall' THEN true
              WHEN 'value' THEN a."group" <> getvariable('ref') AND EXISTS (
                  FROM groups AS b WHERE b.slice IS NOT DISTINCT FROM a.slice AND b."group" = getvariable('ref'))
              ELSE EXISTS (
                  FROM groups AS b WHERE b.slice IS NOT DISTINCT FROM a.slice AND b."group" <> a."group") END
)
SELECT slices.slice, strongest(mean) AS value
FROM slices
LEFT JOIN compared ON compared.slice IS NOT DISTINCT FROM slices.slice
GROUP BY slices.slice
