-- Four-fifths rule: the smaller selection rate over the larger, for the two groups where this ratio is
-- smallest. With a reference one of the two is the reference. The value is at most 1.
-- views: _groups.sql
WITH rates AS (
    SELECT slice, share(pred, own) AS mine, share(pred, other) AS theirs
    FROM beside(rows)
    GROUP BY slice, "group"
)
SELECT slice,
       CASE WHEN getvariable('ref_kind') IS NULL
                THEN CASE WHEN count(mine) > 1 THEN nullif(min(mine) / max(mine), 'nan') END
            ELSE nullif(min(least(mine / theirs, theirs / mine)), 'nan') END AS value
FROM rates
GROUP BY slice
