-- Bound of the error of the Kolmogorov-Smirnov statistic: by how much the largest distance could grow if,
-- inside a bin that has a width, all positives came first or all negatives.
-- views: _groups.sql
-- views: _scores.sql
SELECT slice,
       greatest(max(abs(tpr - fpr)),
                max(greatest(abs(tpr - fpr_above), abs(tpr_above - fpr))) FILTER (wide))
           - max(abs(tpr - fpr)) AS value
FROM bins
GROUP BY slice
