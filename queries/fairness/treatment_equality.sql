-- Treatment equality: the difference between the groups' ratios of false negatives to false positives. The
-- ratio 0/0 is undefined and x/0 is inf; the difference of inf and inf is undefined.
-- views: _groups.sql
-- n: pred <> label
WITH wrong AS (
    FROM rows WHERE pred <> label
),
ratios AS (
    SELECT slice,
           nullif(sum(weight * label::INT) FILTER (own) / sum(weight * pred::INT) FILTER (own), 'nan')
               AS mine,
           nullif(sum(weight * label::INT) FILTER (other) / sum(weight * pred::INT) FILTER (other), 'nan')
               AS theirs
    FROM beside(wrong)
    GROUP BY slice, "group"
)
SELECT slice, difference(mine, theirs) AS value
FROM ratios
GROUP BY slice
